"""Pictures of a trace: pure functions from Step or Trace to Plotly figures and HTML. Nothing here calls the engine."""
