kernel a = grad(b, wrt: x)
kernel b = grad(a, wrt: x)
