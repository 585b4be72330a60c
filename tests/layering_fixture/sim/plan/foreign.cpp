#include <QString>

#include <Eigen/Core>
#include <cuda_runtime.h>
