"""What tests of streaming queries need: the definition as SQL, random workloads, scripted feeds, comparison of results."""
