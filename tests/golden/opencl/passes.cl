#pragma OPENCL FP_CONTRACT OFF

typedef struct KernelContext_s {
    int x;
    int y;
    int z;
    int max_x;
    int max_y;
    int max_z;
    int pass_id;
} KernelContext_t;

static inline bool is_beyond_range(KernelContext_t *kc) {
    bool is_edge_group = (get_group_id(0) + 1) * get_local_size(0) > kc->max_x
        || (get_group_id(1) + 1) * get_local_size(1) > kc->max_y
        || (get_group_id(2) + 1) * get_local_size(2) > kc->max_z;
    return is_edge_group && (kc->x >= kc->max_x || kc->y >= kc->max_y || kc->z >= kc->max_z);
}

static inline int tb_weight(KernelContext_t *kc, int n) {
    return kc->pass_id == 0 ? n : 1;
}

__kernel void tb_passes(
    __global int *a, int a_shape0, __global int *b, int b_shape0, int pass_id, int max_x, int max_y,
    int max_z, int pass_id_2
) {
    KernelContext_t kernel_context;
    KernelContext_t *kc = &kernel_context;
    kc->x = get_global_id(0);
    kc->y = get_global_id(1);
    kc->z = get_global_id(2);
    kc->max_x = max_x;
    kc->max_y = max_y;
    kc->max_z = max_z;
    kc->pass_id = pass_id_2;
    if (is_beyond_range(kc)) return;

    __global int *source;
    int source_shape0;
    if (kc->pass_id % 2 == 0) {
        source = a;
        source_shape0 = a_shape0;
    } else {
        source = b;
        source_shape0 = b_shape0;
    }
    __global int *source_2 = source;
    int source_2_shape0 = source_shape0;
    __global int *to;
    int to_shape0;
    if (kc->pass_id % 2 == 0) {
        to = b;
        to_shape0 = b_shape0;
    } else {
        to = a;
        to_shape0 = a_shape0;
    }
    __global int *to_2 = to;
    int to_2_shape0 = to_shape0;
    to_2[kc->x] = (int)((uint)source_2[kc->x] * tb_weight(kc, pass_id));
}
