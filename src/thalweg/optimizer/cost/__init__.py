"""What a plan costs: one small file per cost model, its terms named as in the paper it comes from."""
