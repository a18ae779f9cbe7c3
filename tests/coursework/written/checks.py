"""The rubric of "Explain yourself". Never published. course-secret: written-90c4d2"""

from attention_lib.coursework.model import Assignment

ASSIGNMENT = Assignment(
    id="written",
    title="Explain yourself",
    chapter="13_transformer_and_mobilevit",
    minutes=60,
    goals=(
        "explain in your own words, with numbers, why attention is built as it is",
        "estimate cost and memory before running anything",
    ),
    functions={},
    switches=("width", "length", "many"),
    rubric={
        "answer_scale": (
            (4, "states that the variance of q . k grows with d_k, and gives the standard deviation for this d_k"),
            (3, "says what that does to the softmax: one weight near 1, gradients near 0"),
            (3, "names a condition under which the scale matters less"),
        ),
        "answer_cost": (
            (4, "counts H * n * n weights for this n and H, and their bytes in float32"),
            (3, "says that work and memory grow with the square of n"),
            (3, "names one way out and its price"),
        ),
        "answer_heads": (
            (4, "says that heads split d_model and do not add parameters"),
            (3, "explains what W^O does that concatenation cannot"),
            (3, "says what a map of weights does not prove"),
        ),
    },
)
