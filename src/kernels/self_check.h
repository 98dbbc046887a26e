// A level held to the reference on small inputs, at start: for levels whose instructions no test machine has.
// Thread: any; takes about a millisecond and allocates.
#pragma once

#include "base/status.h"
#include "kernels/ops.h"

namespace firebrick {

// Every packing of a linear layer for one row and for many, and attention over both kinds of pages: the same
// bits as ref, or kDataLoss with what differs.
Status CheckAgainstReference(const Ops& ops);

}  // namespace firebrick
