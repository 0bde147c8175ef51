# SPDX-License-Identifier: Apache-2.0
"""The text of a proposed policy file: roles with their reasons as comments, with k, and ε or averages, left undecided."""

from __future__ import annotations

import textwrap

from kepsilon.engines.arrow.profile import profile_columns, sampled_columns
from kepsilon.errors import guarded
from kepsilon.policy.rewriting import EDIT_ME
from kepsilon.propose.enough_k_quasis import enough_k_quasis, suggested_k
from kepsilon.propose.hierarchies import SHARED_BY_MANY, public_step
from kepsilon.propose.leaks import MOST_RECORDS, with_leaks
from kepsilon.propose.persons import lines_about_persons
from kepsilon.propose.proposal import Proposal
from kepsilon.propose.proposed_policy import ProposedPolicy, missing_codes, proposed_column, table_warnings
from kepsilon.propose.rules import propose_role
from kepsilon.propose.same_twice import without_twins
from kepsilon.propose.toml_text import WIDTH, comment, toml_key, toml_string, toml_value

HEADER = """\
# A proposal, made by kepsilon init from {source} ({n_records:,} records). It knows only the names and the contents of
# the columns; only you know who could know what about these people. Check every line, then run:
#   kepsilon check DATA -p THIS_FILE

# 1. Decide these; they have no defaults, because they decide what is promised. Remove the # when you have.

# k = {k}                    # every published combination of k-quasis is shared by at least k records
# max_risk = 0.05           # refuse a release in which an attacker would find more than this share of the records
{epsilon}{averages}
algorithm = "local-recoding"  # every class gets labels as fine as its records allow, so it loses least, and leaves nobody out
# Choose "ola" instead where one level for everybody is wanted: all records then have, say, the first two digits of a
# postcode. That is easy to explain, and tables of several files or years can be compared label by label. It costs more
# detail, and needs to know which share of the records it may leave out for it, 0 to 1:
# max_suppression = 0.05
"""
EPSILON = """\
# epsilon = 2.0             # noise on the epsilon-quasis: smaller hides more and costs more
"""
AVERAGES = """\

# Instead of epsilon you may choose averages: every record then publishes the average of its group, of at least so many
# near neighbours in its class. At equal linking risk averages usually keep more than noise does. They hide no extreme
# value from somebody who roughly knows the others of its group; noise with a declared range does. "group" is at least
# k, and k is at least 3. To compare both: kepsilon explore DATA -p THIS_FILE --group 10,25,50 --max-risk 0.05
# averages = {{ group = {k} }}
"""
ROLES = """\
# 2. Check the role of every column.
#   identifier      dropped
#   k-quasi         others may know it: generalised until k records share it
#   epsilon-quasi   a number that others may know, at least roughly: published with noise, or averaged
#   sensitive       what the data is about: published as it is, so nobody must be able to look it up
#   insensitive     published as it is, and says nothing about a person
# Whether a number does better as a k-quasi or as an epsilon-quasi: kepsilon explore DATA -p THIS_FILE --split
"""
RANGES = """\
# "range" sets the noise of an epsilon-quasi, and with it the promise. There is no default. The choices:
#   [low, high]         bounds you know without looking at the data: the strongest promise, for each record
#                       whatever the others hold. More noise; values outside are clipped.
#   { coarse = step }   the range of the values in each class, widened to multiples of the step: hides what is
#                       smaller than the step, and always adds noise.
#   "class"             the same without a step, as in the paper. Least noise, but the size of the noise gives an
#                       extreme value away, whatever epsilon is, and where all records agree there is no noise.
# "domain" is what such a number can be: published values are clamped to it, so that none is negative.
# EDIT THE NUMBERS BELOW: "range" and "domain" are published, and must not come from the data. The proposed ones do:
# each is 1, 2 or 5 times a power of ten, but it tells roughly how far the values reach, outliers included. Write
# what you would have written without looking at the data.
"""
TOGETHER = """\
# epsilon covers the {n} epsilon-quasis of a record together: every further one adds noise to all of them.
"""
LISTS = """\
# Groups of values keep more detail than "suppress", which knows only the value or *. Where a column has few values
# they are offered as a comment; the grouping is no more than a start (a first word in common, or the alphabet).
# These lists were copied from the data (values of at least {shared_by_many} records each), and are left out of the public manifest.
"""
UNLISTED = """\
unlisted_columns = "drop"   # columns without a section below are not published
"""
DECIMAL_COMMA = """\
decimal = ","               # numbers are written with a decimal comma throughout; the release has points
"""
DIVERSITY = """\
# l_diversity = { distinct = 3 }   # asks every class for 3 different values; t_closeness = 0.3: for about the table's mixture
"""
LEFT_OUT = "NOT PUBLISHED. {why} To publish it all the same, remove the # of these lines."
QUASIS = ("k-quasi", "epsilon-quasi")
NOTHING_TO_PROTECT = """\
# ATTENTION: no column looks like a k-quasi or an epsilon-quasi. A policy without any is refused, because nothing
# would be protected.
"""


@guarded
def propose_policy(source: object) -> str:
    """The text of a policy file for a path or a frame.

    It is no valid policy until k is set, and epsilon or averages where there is an ε-quasi.
    """
    return propose_with_reasons(source).text


@guarded
def propose_with_reasons(source: object) -> ProposedPolicy:
    """A policy for a path or a frame, with the role of each column, the reason, and what to look at first.

    Its text is no valid policy until k is set, and epsilon or averages where there is an ε-quasi.
    """
    name, notes, columns = profile_columns(source)
    sample = sampled_columns(source, most=MOST_RECORDS)
    enough = enough_k_quasis(without_twins([propose_role(column) for column in columns], sample[0]))
    proposals = with_leaks(enough.proposals, *sample)
    k = suggested_k(proposals)
    n_noisy = sum(proposal.role == "epsilon-quasi" and proposal.is_quasi for proposal in proposals)
    head = HEADER.format(
        source=toml_string(name),
        n_records=columns[0].n_records,
        epsilon=EPSILON if n_noisy else "",
        averages=AVERAGES.format(k=k) if n_noisy else "",
        k=k,
    )
    explained = ROLES + enough.explained
    read = [comment(f"ATTENTION: the data {note.what} {note.fix}") for note in notes]
    quasis = [proposal for proposal in proposals if proposal.role in QUASIS and not proposal.is_left_out]
    signs = [DECIMAL_COMMA] if any(proposal.column.has_commas for proposal in quasis) else []
    unlisted = [UNLISTED] if any(proposal.is_left_out for proposal in proposals) else []
    parts = [head, *signs, *unlisted, *read, *lines_about_persons(proposals)]
    parts += [explained] if quasis else [NOTHING_TO_PROTECT, explained]
    if n_noisy:
        parts.append(RANGES + (TOGETHER.format(n=n_noisy) if n_noisy > 1 else ""))
    if any(proposal.groups for proposal in proposals if not proposal.is_left_out):
        parts.append(LISTS.format(shared_by_many=SHARED_BY_MANY))
    return ProposedPolicy(
        text="\n".join([*parts, *(_section(proposal) for proposal in proposals)]),
        n_records=columns[0].n_records,
        columns=tuple(map(proposed_column, proposals)),
        warnings=(*table_warnings(parts), *missing_codes(proposals)),
    )


def _section(proposal: Proposal) -> str:
    header = f"[attributes.{toml_key(proposal.column.name)}]\n"
    comments = comment(proposal.reason) + "".join(comment(note) for note in proposal.notes)
    if proposal.role is None:
        return f'{comments}# {header}# role = "identifier"   # or "sensitive"\n'
    lines = [f'role = "{proposal.role}"\n']
    if proposal.role == "sensitive":
        lines.append(DIVERSITY)
    if proposal.hierarchy is not None:
        has_length = f"   # {EDIT_ME}: the length such a code can have" if "length" in proposal.hierarchy else ""
        lines.append(f"hierarchy = {toml_value(proposal.hierarchy)}{has_length}\n")
    if proposal.role in QUASIS and proposal.column.missing:
        lines.append(f"missing_values = {toml_value(list(proposal.column.missing))}\n")
    step = public_step(proposal.column, proposal.hierarchy)
    if step is not None:
        lines.append(f"step = {toml_value(step)}   # {EDIT_ME}: a round public number that labels begin and end on\n")
    if proposal.groups:
        lines.append(_groups(proposal))
    if proposal.precision is not None:
        lines += [f"precision = {toml_value(proposal.precision)}\n"]
        lines.append(f"range = {{ coarse = {toml_value(proposal.coarse)} }}   # {EDIT_ME}; or [low, high]: see above\n")
    if proposal.domain is not None:
        lines.append(f"domain = {toml_value(list(proposal.domain))}   # {EDIT_ME}: what such a number can be\n")
    if proposal.is_left_out:
        shown = "".join([header, *lines]).splitlines(keepends=True)
        comments += comment(LEFT_OUT.format(why=proposal.left_out_because))
        return comments + "".join(line if line.startswith("#") else f"# {line}" for line in shown)
    return "".join([comments, header, *lines])


def _groups(proposal: Proposal) -> str:
    """A hierarchy of groups as a comment, which the curator may use in place of the one above it."""
    n_listed = sum(len(members) for _, members in proposal.groups)
    n_more = sum(value.strip() not in proposal.column.missing for value, _ in proposal.column.values) - n_listed
    rare = f"; add the {n_more} that fewer than {SHARED_BY_MANY} records hold" if n_more else ""
    why = f"Or, instead of the line above, when the values are where they belong (list copied from the data{rare}):"
    lines = ['hierarchy = { type = "groups", levels = [ {']
    for i, (label, members) in enumerate(proposal.groups):
        lines[-1] += f"{', ' if i else ' '}{toml_string(label)} = ["
        listed = textwrap.wrap(
            ", ".join(map(toml_string, members)), WIDTH - 6, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"    {line}" for line in listed] + ["]"]
    lines[-1] += " } ] }"
    return comment(why) + "".join(f"# {line}\n" for line in lines)
