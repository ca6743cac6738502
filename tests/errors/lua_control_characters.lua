error('\27[31mred\0 \u{202e}')    --> \x1b[31mred
