"""The lab notebook checks the code that a student writes, and says what is wrong in words.

A task is a function to write; here is what it must satisfy. A check hands the student's function
small inputs and returns a `Verdict`, which a notebook shows when a cell ends in it. Where a
common mistake explains a wrong answer, the sentence names the mistake.
"""

from study.lab.calibrations import check_method_2, check_split_conformal
from study.lab.systems import check_membership, check_type_reduction
from study.lab.verdict import Verdict

__all__ = [
    "Verdict",
    "check_membership",
    "check_method_2",
    "check_split_conformal",
    "check_type_reduction",
]
