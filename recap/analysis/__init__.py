"""Offline replay: what memories, fusion rules and budgets would have proposed along saved greedy continuations.

Nothing is decoded here. As in the paper (appendix B), memories are asked before they are updated, states of which nothing
is known count, and proposals are compared with the target's own continuation. The drafting core is the one that decodes.
"""
