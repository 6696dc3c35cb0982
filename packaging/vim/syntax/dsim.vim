" Scripts of datsim: datsim-script(5)
if exists('b:current_syntax')
	finish
endif

syntax case match
syntax match dsimComment /#.*$/ contains=@Spell
syntax region dsimText start=/"/ end=/"/ oneline
syntax match dsimNumber /\<\(0x\x\+\|\d\+\(\.\d\+\)\?\(ns\|us\|ms\|s\|K\|M\|G\|Gbps\|Mbps\|%\)\?\)\>/
syntax match dsimTime /^\s*[+*]\?\(\d\+\(\.\d\+\)\?\(ns\|us\|ms\|s\)\(\~+\?\d\+\(\.\d\+\)\?\(ns\|us\|ms\|s\)\)\?\)\?\ze\s/
syntax match dsimActor /\<\h\w*\ze:\(\s\|$\)/
syntax match dsimCall /\<dat_\w\+/
syntax match dsimConstant /\<DAT_\w\+/
syntax match dsimEvent /\(\<event \h\w* \)\@<=\h\w*/
syntax keyword dsimStatement fabric use connected adapter bare hold release link note quiet end
syntax match dsimVariable /\$\h\w*/
syntax keyword dsimStatement for in turn fault heal event agent no packet message after packets optional
syntax match dsimOperator /->\|!=\|=?/

highlight default link dsimComment Comment
highlight default link dsimText String
highlight default link dsimTime Number
highlight default link dsimNumber Number
highlight default link dsimActor Identifier
highlight default link dsimCall Function
highlight default link dsimConstant Constant
highlight default link dsimEvent Type
highlight default link dsimStatement Statement
highlight default link dsimOperator Operator
highlight default link dsimVariable Identifier

let b:current_syntax = 'dsim'
