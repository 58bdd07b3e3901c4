/* One set of kernels: see instructions.h, which includes this once per set. */
#include "vector.h"

#include "linear.h"

#include "layers.h"

#include "attention.h"

#include "forward.h"

#undef Vector
#undef Integers
#undef KERNEL
#undef INLINE
#undef W
#undef Operand
#undef TILE
#undef ROWS_PER_PIECE
#undef GROUP
#undef Stage
#undef LANES
#undef SUFFIX
#undef INSTRUCTIONS
#undef TARGET
#undef FUSED
#undef REACHES
#undef MAX_ROWS
#undef MAX_PANELS
#undef TILES
#undef TILE_TABLE
#undef BROAD_TABLE
#undef BROAD_PANELS
