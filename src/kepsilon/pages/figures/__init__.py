# SPDX-License-Identifier: Apache-2.0
"""The figures of the pages: what each shows in a sentence, its picture and its table."""
