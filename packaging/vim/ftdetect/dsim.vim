" Scripts of datsim: datsim-script(5)
autocmd BufRead,BufNewFile *.dsim setfiletype dsim
