# What is summed along the batches of a product, and read as a factor of another: the product is stored batch by batch, and what is made of it as it lies.
kernel states(k: bf16[B=2,S=512,D=64], v: bf16[B,S,E=64], q: bf16[B,S,D]) -> o: bf16[B,S,E] {
  st = cumsum[N](k{S->(N,C=64)} @[C] v{S->(N,C=64)})
  o = (q{S->(N,C=64)} @[D] st){(N,C)->S}
}
