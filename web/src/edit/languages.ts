import {json} from '@codemirror/lang-json'
import {yaml} from '@codemirror/lang-yaml'
import type {Extension} from '@codemirror/state'

export type Language = 'json' | 'yaml'

// languageOf returns the language of a document: text that starts with a brace or a bracket is read
// as JSON.
export const languageOf = (text: string): Language => (/^[\s\ufeff]*[{[]/.test(text) ? 'json' : 'yaml')

export const supportOf = (l: Language): Extension => (l === 'json' ? json() : yaml())
