def flowchart(view): return ""
