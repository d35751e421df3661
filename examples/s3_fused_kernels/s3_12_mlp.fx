# "Can we write the whole MLP as one kernel?" Not by letting a program that holds one block of W1 apply the second bias and sigmoid: it has only a part of the second
# sum. Correct: a block owns rows of y, walks over all of H and finishes then; for each tile of columns of y beside the first the hidden layer is computed again.
kernel mlp_one(x: f32[M,K], W1: f32[K,H], b1: f32[H], W2: f32[H,N], b2: f32[N]) -> y: f32[M,N] with { fuse: require } {
  h = relu(x @ W1 + b1)
  y = sigmoid(h @ W2 + b2)
}

kernel mlp_best(x: f32[M,K], W1: f32[K,H], b1: f32[H], W2: f32[H,N], b2: f32[N]) -> y: f32[M,N] with { fuse: prefer } {
  h = relu(x @ W1 + b1)
  y = sigmoid(h @ W2 + b2)
}

test mlp_one { M=7 K=16 H=8 N=4 }
test mlp_one { M=70 K=33 H=129 N=130 init: normal(0,0.3) }                # the last block of H and of N is a part of one
test mlp_one { M=65 K=9 H=200 N=5 init: integers(-1,1) }
test mlp_best { M=7 K=16 H=8 N=4 }
test mlp_best { M=70 K=33 H=129 N=130 init: normal(0,0.3) }
bench mlp_one { M=7 K=16 H=8 N=4 }
bench mlp_one { M=4096 K=512 H=512 N=64 init: normal(0,0.05) }
bench mlp_best { M=7 K=16 H=8 N=4 }
bench mlp_best { M=4096 K=512 H=512 N=64 init: normal(0,0.05) }
