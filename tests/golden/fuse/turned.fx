# A factor of 16 bits that is stored has the label contiguous that vectors fit: that of the sum in even, the other in odd and in open.
kernel odd(p: f16[H,S,J=69], c: f16[H,R=3,E=24], v: f16[H,T=66,E]) -> o: f16[H,S,E] { o = p @ concat[J](c{R->J}, v{T->J}) }
kernel even(p: f16[H,S,J=72], c: f16[H,R=3,E=24], v: f16[H,T=69,E]) -> o: f16[H,S,E] { o = p @ concat[J](c{R->J}, v{T->J}) }
kernel open(p: f16[H,S,J], c: f16[H,R,E=24], v: f16[H,T,E]) -> o: f16[H,S,E] { o = p @ concat[J](c{R->J}, v{T->J}) }
