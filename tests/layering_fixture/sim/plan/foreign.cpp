#include <QString>

#include <cuda_runtime.h>
