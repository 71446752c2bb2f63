"""The six simulated problems of ISLR section 4.5 by name, each with the rows of one training sample."""

from discern.simulate import scenario

STRAIGHT = {
    "1: normal, uncorrelated": (scenario(1), 40),
    "2: normal, correlation −0.5": (scenario(2), 40),
    "3: t distributions": (scenario(3), 100),
}
CURVED = {
    "4: correlations 0.5 and −0.5": (scenario(4), 40),
    "5: quadratic log odds": (scenario(5), 200),
    "6: more complicated": (scenario(6), 200),
}
