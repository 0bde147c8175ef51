# SPDX-License-Identifier: Apache-2.0
"""Moving data: read, count, write. Engines move data; kernels decide."""
