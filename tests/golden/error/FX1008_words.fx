# Names of C, C++ and CUDA are names like others; words that .fx reads as another language's cannot be called.
fn return(v) = v
fn if(v) = 2 * v
kernel double(for: f32[int], while: f32[class]) -> (struct: f32[int, class], template: f32[int]) {
  and = for * while
  struct = and
  template = return(for) + if(for) + lambda(for)
}
