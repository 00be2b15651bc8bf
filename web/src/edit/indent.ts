// indentOf returns the indentation unit of a text: the indentation of its first indented line.
export const indentOf = (text: string): string => /^(\t|[ ]{2,8})\S/m.exec(text)?.[1] ?? '  '
