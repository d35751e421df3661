fn f(v) = v
