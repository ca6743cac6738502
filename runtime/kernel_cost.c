/*
** Costs are linear in tokens and in (query, key) pairs.  A build that trains counts a
** kernel's forward and backward calls together; then only a whole step is known.
*/
#include "kernel_cost.h"

Cost kernel_cost(const strata_kernel *k, double sequences, double length)
{
    double tokens = sequences * length, pairs = sequences * length * (length + 1) / 2;
    return (Cost){ k->flops_per_token * tokens + k->flops_per_pair * pairs,
                   k->bytes_per_token * tokens + k->bytes_constant };
}

static double sum(const strata_model *m, int32_t used, double sequences, double length)
{
    double flops = 0;
    for (int32_t i = 0; i < m->kernels; i++)
        if (strata_kernels(m)[i].used & used)
            flops += kernel_cost(&strata_kernels(m)[i], sequences, length).flops;
    return flops;
}

double training_flops(const strata_model *m, double sequences, double length)
{
    double flops = sum(m, STRATA_FORWARD | STRATA_BACKWARD, sequences, length);
    return flops > 0 ? flops : m->flops_training * sequences * length;
}

double forward_flops(const strata_model *m, double sequences, double length)
{
    double flops = m->training ? 0 : sum(m, STRATA_DECODE, sequences, length);
    return flops > 0 ? flops : m->flops_forward * sequences * length;
}
