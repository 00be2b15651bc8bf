// Screen is what is pictured; an address that depends on what was made is a function of it.
export type Screen = {
  name: string
  route: string
  brief?: boolean
  path: string | ((world: Record<string, string>) => string)
}
export const screens: Screen[]
export const themes: string[]
export const sizes: Record<string, {width: number; height: number}>
export function picturesOf(screen: Screen): {theme: string; width: string; file: string}[]
