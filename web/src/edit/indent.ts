// indentOf gives the indentation of a text: that of its first indented line.
export const indentOf = (text: string): string => /^(\t|[ ]{2,8})\S/m.exec(text)?.[1] ?? '  '
