#include <QWidget>

#include "runtime/executor.hpp"
