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

typedef struct F32Array_s {
    int length;
} F32Array_t;

static inline __global float *F32Array_array(__global F32Array_t *s) {
    return (__global float *)(s + 1);
}

typedef struct Result_s {
    float x;
    float y;
} Result_t;

typedef struct ResultTable_s {
    int count;
    int length;
} ResultTable_t;

static inline __global Result_t *ResultTable_result(__global ResultTable_t *s) {
    return (__global Result_t *)(s + 1);
}

__kernel void tb_result_table(
    __global F32Array_t *xs, int xs_length, __global F32Array_t *ys, int ys_length, float radius,
    __global ResultTable_t *table, int table_length, int max_x, int max_y, int max_z
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
    __global float *xs_array = F32Array_array(xs);
    __global float *ys_array = F32Array_array(ys);
    __global Result_t *table_result = ResultTable_result(table);

    float x = xs_array[kc->x];
    float y = ys_array[kc->x];
    if (x * x + y * y <= radius * radius) {
        int slot = atomic_add(&table->count, 1);
        if (slot < table_length) {
            __global Result_t *result = &table_result[slot];
            result->x = x;
            result->y = y;
        }
    }
}
