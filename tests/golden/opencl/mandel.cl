#pragma OPENCL FP_CONTRACT OFF

typedef struct KernelContext_s {
    int x;
    int y;
    int z;
    int max_x;
    int max_y;
    int max_z;
} KernelContext_t;

static inline bool is_beyond_range(KernelContext_t *kc) {
    bool is_edge_group = (get_group_id(0) + 1) * get_local_size(0) > kc->max_x
        || (get_group_id(1) + 1) * get_local_size(1) > kc->max_y
        || (get_group_id(2) + 1) * get_local_size(2) > kc->max_z;
    return is_edge_group && (kc->x >= kc->max_x || kc->y >= kc->max_y || kc->z >= kc->max_z);
}

typedef struct S32Array2D_s {
    int width;
    int height;
} S32Array2D_t;

static inline __global int *S32Array2D_array(__global S32Array2D_t *s) {
    return (__global int *)(s + 1);
}

typedef struct S32Array_s {
    int length;
} S32Array_t;

static inline __global int *S32Array_array(__global S32Array_t *s) {
    return (__global int *)(s + 1);
}

static inline int tb_escape_time(float cx, float cy, int limit) {
    float x = 0.0f;
    float y = 0.0f;
    int steps = 0;
    while (steps < limit && x * x + y * y <= 4.0f) {
        float t = 2.0f * x * y + cy;
        x = x * x - y * y + cx;
        y = t;
        steps = (int)((uint)steps + 1);
    }
    return steps;
}

__kernel void tb_mandel(
    __global S32Array2D_t *image, int image_width, int image_height, __global S32Array_t *palette,
    int palette_length, float left, float top, float scale, int max_x, int max_y, int max_z
) {
    KernelContext_t kernel_context;
    KernelContext_t *kc = &kernel_context;
    kc->x = get_global_id(0);
    kc->y = get_global_id(1);
    kc->z = get_global_id(2);
    kc->max_x = max_x;
    kc->max_y = max_y;
    kc->max_z = max_z;
    if (is_beyond_range(kc)) return;
    __global int *image_array = S32Array2D_array(image);
    __global int *palette_array = S32Array_array(palette);

    float cx = left + (float)kc->x * scale;
    float cy = top + (float)kc->y * scale;
    image_array[(long)kc->y * image_width + kc->x] = palette_array[tb_escape_time(cx, cy, palette_length - 1)];
}
