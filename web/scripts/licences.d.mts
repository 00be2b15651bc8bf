export function packages(): {path: string; name: string; version: string; licence: string}[]
export function licences(): string
