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

__kernel void tb_saxpy(
    float a, __global float *x, int x_shape0, __global float *y, int y_shape0, __global float *z,
    int z_shape0, int max_x, int max_y, int max_z
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

    z[kc->x] = a * x[kc->x] + y[kc->x];
}
