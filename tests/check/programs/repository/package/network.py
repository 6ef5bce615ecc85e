mul = 3
