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

typedef struct S32Array_s {
    int length;
} S32Array_t;

static inline __global int *S32Array_array(__global S32Array_t *s) {
    return (__global int *)(s + 1);
}

static inline int tb_square(int v) {
    return (int)((uint)v * v);
}

__kernel void tb_squares(
    __global S32Array_t *s32, int s32_length, int max_x, int max_y, int max_z
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
    __global int *s32_array = S32Array_array(s32);

    s32_array[kc->x] = tb_square(s32_array[kc->x]);
}
