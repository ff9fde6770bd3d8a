/* The kernels in plain C with OpenMP, as one writes them first. */
#include <math.h>
#include <stdint.h>

#define TILE 16
#define BLOCK 1024

void mandelbrot(int *image, int height, int width, int limit) {
    float scale = 3.0f / width;
#pragma omp parallel for schedule(dynamic)
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            float cx = -2.0f + i * scale, cy = -1.5f + j * scale, x = 0, y = 0;
            int steps = 0;
            while (steps < limit && x * x + y * y <= 4.0f) {
                float t = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = t;
                steps++;
            }
            image[j * width + i] = steps;
        }
}

void nbody(const float *pos, int n, int four, float *acc, int n2, int four2) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float x = pos[i * 4], y = pos[i * 4 + 1], z = pos[i * 4 + 2];
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            float dx = pos[j * 4] - x, dy = pos[j * 4 + 1] - y, dz = pos[j * 4 + 2] - z;
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = pos[j * 4 + 3] * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        acc[i * 4] = ax;
        acc[i * 4 + 1] = ay;
        acc[i * 4 + 2] = az;
    }
}

void matmul(const float *a, int h, int n, const float *b, int n2, int w2, float *c, int h3, int w) {
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float total = 0;
            for (int k = 0; k < n; k++) total += a[y * n + k] * b[k * w + x];
            c[y * w + x] = total;
        }
}

void tiled_matmul(const float *a, int h, int n, const float *b, int n2, int w2, float *c, int h3,
                  int w) {
#pragma omp parallel for
    for (int row = 0; row < h; row += TILE) {
        for (int i = row * w; i < (row + TILE) * w; i++) c[i] = 0;
        for (int tile = 0; tile < n; tile += TILE)
            for (int y = row; y < row + TILE; y++)
                for (int k = tile; k < tile + TILE; k++)
                    for (int x = 0; x < w; x++) c[y * w + x] += a[y * n + k] * b[k * w + x];
    }
}

void life(const uint8_t *now, int height, int width, uint8_t *later, int h2, int w2) {
#pragma omp parallel for
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const uint8_t *at = now + y * width + x;
            int around = at[-width - 1] + at[-width] + at[-width + 1] + at[-1] + at[1] +
                         at[width - 1] + at[width] + at[width + 1];
            later[y * width + x] = around == 3 || (around == 2 && *at == 1);
        }
}

static float normal(float x) { return 0.5f + 0.5f * erff(x * 0.70710678f); }

void black_scholes(const float *price, int n, const float *strike, int n2, const float *years,
                   int n3, float *call, int n4, float *put, int n5) {
    const float rate = 0.02f, volatility = 0.3f;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float s = price[i], k = strike[i], t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float later = k * expf(-rate * t);
        call[i] = s * normal(d1) - later * normal(d2);
        put[i] = later * normal(-d2) - s * normal(-d1);
    }
}

void saxpy(const float *x, int n, float *y, int n2, float a) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void stencil(const float *image, int height, int width, const float *weights, int five, int five2,
             float *out, int h2, int w2) {
#pragma omp parallel for
    for (int y = 2; y < height - 2; y++)
        for (int x = 2; x < width - 2; x++) {
            float total = 0;
            for (int j = 0; j < 5; j++)
                for (int i = 0; i < 5; i++)
                    total += weights[j * 5 + i] * image[(y + j - 2) * width + x + i - 2];
            out[y * width + x] = total;
        }
}

void histogram(const uint8_t *numbers, int n, int *bins, int count) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
#pragma omp atomic
        bins[numbers[i]]++;
}

void prefix_sum(const int *numbers, int n, int *sums, int n2, int *totals, int blocks) {
#pragma omp parallel for
    for (int block = 0; block < blocks; block++) {
        int total = 0;
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
            total += numbers[i];
            sums[i] = total;
        }
        totals[block] = total;
    }
    for (int block = 1; block < blocks; block++) totals[block] += totals[block - 1];
#pragma omp parallel for
    for (int block = 1; block < blocks; block++)
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) sums[i] += totals[block - 1];
}
