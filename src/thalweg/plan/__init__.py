"""From a workload to fragments, emissions and the SQL steps that a micro-batch runs."""
