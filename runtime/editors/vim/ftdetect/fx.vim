autocmd BufRead,BufNewFile *.fx setfiletype fx
