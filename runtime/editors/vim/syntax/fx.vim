" fx: tensor algebra over named axes.
if exists('b:current_syntax') | finish | endif
syntax keyword fxKeyword include const fn kernel test bench with require inout packed strided align grad
syntax keyword fxType bool u4 i4 i8 u8 i16 i32 i64 u32 u64 f8e4m3 f8e5m2 f16 bf16 f32 f64
syntax keyword fxConstant inf nan true false
syntax match fxNumber '\<\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?\>'
syntax match fxFunction '\<[a-z_][A-Za-z0-9_]*\ze\s*[(\[]'
syntax match fxLabel '\<[A-Z][A-Za-z0-9_]*\>'
syntax match fxOperator '->\|??\|[-+*/%@&|!<>=?:]'
syntax region fxString start='"' end='"' oneline
syntax match fxComment '#.*$' contains=@Spell
highlight default link fxKeyword Keyword
highlight default link fxType Type
highlight default link fxConstant Constant
highlight default link fxNumber Number
highlight default link fxFunction Function
highlight default link fxLabel Identifier
highlight default link fxOperator Operator
highlight default link fxString String
highlight default link fxComment Comment
let b:current_syntax = 'fx'
