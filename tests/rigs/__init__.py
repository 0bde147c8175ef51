# SPDX-License-Identifier: Apache-2.0
"""Two rigs that try what nobody thought of: `fuzz` (whatever is done, nothing breaks or leaks) and `honest` (the audit
accuses nobody). Both draw their cases from `rigs.cases`."""
