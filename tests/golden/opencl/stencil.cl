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

static inline int mod_size_i32(int a, int b) {
    int d = b == 0 ? 1 : b;
    int m = a % d;
    return m < 0 ? m + d : m;
}

static inline int floordiv_size_i32(int a, int b) {
    int d = b == 0 ? 1 : b;
    int q = a / d - (a % d < 0);
    return b == 0 ? 0 : q;
}

__kernel void tb_stencil(
    __global S32Array2D_t *source, int source_width, int source_height,
    __global S32Array2D_t *target, int target_width, int target_height, uchar wraps_stored,
    int max_x, int max_y, int max_z
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
    bool wraps = wraps_stored != 0;
    __global int *source_array = S32Array2D_array(source);
    __global int *target_array = S32Array2D_array(target);

    int width = source_width;
    int height = source_height;
    int total = 0;
    for (int dy = -1; dy < 2; ++dy) {
        for (int dx = -1; dx < 2; ++dx) {
            int y = kc->y + dy;
            int x = kc->x + dx;
            if (wraps) {
                total = (int)((uint)total + source_array[(long)mod_size_i32(y, height) * source_width + mod_size_i32(x, width)]);
            } else if (0 <= y && y < height && 0 <= x && x < width) {
                total = (int)((uint)total + source_array[(long)y * source_width + x]);
            }
        }
    }
    target_array[(long)kc->y * target_width + kc->x] = floordiv_size_i32(total, 9);
}
