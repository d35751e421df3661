" fx: two spaces a block; :make compiles, its messages are errors of the quickfix list; gq formats.
if exists('b:did_ftplugin') | finish | endif
let b:did_ftplugin = 1
setlocal expandtab shiftwidth=2 softtabstop=2 commentstring=#\ %s comments=:#
setlocal makeprg=fxc\ annotate\ -o\ /dev/null\ %:S errorformat=%f:%l:%c:\ %t%*[^:]:\ %m,%-G%.%#
setlocal formatprg=fxc\ fmt\ -
let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< commentstring< comments< makeprg< errorformat< formatprg<'
