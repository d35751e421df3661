# Where lines end does not matter, where statements start does.
kernel layout(
  x: f32[M],
  y: f32[M]
)
-> z: f32[M]
{
  a = x +
      y; b = a

  require M
    > 3
  c
    = f(a,
        b
       )
  z = c
    - b ;;
}
