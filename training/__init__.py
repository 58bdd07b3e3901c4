"""How the built-in reader was trained: pictures drawn here, questions and answers about them, LoRA, and the exam.

Not part of the engine. `python -m training.render | data | train | evaluate`, in this order.
"""
