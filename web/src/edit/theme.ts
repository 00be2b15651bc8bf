import {HighlightStyle, syntaxHighlighting} from '@codemirror/language'
import type {Extension} from '@codemirror/state'
import {EditorView} from '@codemirror/view'
import {tags as t} from '@lezer/highlight'

// nonceOf returns the nonce that lets CodeMirror add its styles: the server writes it into the
// page, and the policy names it.
const nonceOf = (): string => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

const wavy = (colour: string) => ({
  backgroundImage: 'none',
  textDecoration: `underline wavy ${colour} 1.5px`,
  textDecorationSkipInk: 'none',
  textUnderlineOffset: '3px',
})

const marker = (colour: string, sign: string) => ({
  content: `"${sign}"`,
  color: colour,
  fontWeight: '700',
  fontSize: '12px',
  lineHeight: '20px',
})

const selected =
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ' +
  '.cm-selectionBackground, .cm-content ::selection'

// look takes all colors from the tokens, so that it follows the theme, and replaces the images of
// the lint package, which the policy would reject.
const look = EditorView.theme({
  '&': {height: '100%', color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '13px'},
  '&.cm-focused': {outline: 'none'},
  '.cm-scroller': {fontFamily: 'var(--mono)', lineHeight: '20px'},
  '.cm-content': {caretColor: 'var(--ink)', padding: '8px 0'},
  '.cm-cursor, .cm-dropCursor': {borderLeftColor: 'var(--ink)', borderLeftWidth: '2px'},
  [selected]: {
    backgroundColor: 'var(--selected)',
  },
  '.cm-content ::selection': {color: 'currentcolor'}, // selected text keeps the colors of its words
  '.cm-gutters': {
    backgroundColor: 'var(--surface)',
    color: 'var(--ink3)',
    border: 'none',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine': {backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)'},
  '&:has(.cm-selectionBackground) .cm-activeLine': {backgroundColor: 'transparent'},
  '.cm-activeLineGutter': {backgroundColor: 'transparent', color: 'var(--ink)'},
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-tint)',
    outline: '1px solid var(--edge)',
  },
  '.cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket': {
    backgroundColor: 'var(--failed-tint)',
    color: 'var(--failed)',
  },
  '.cm-selectionMatch': {backgroundColor: 'var(--warning-tint)'},
  '.cm-searchMatch': {backgroundColor: 'var(--warning-tint)', outline: '1px solid var(--warning)'},
  '.cm-searchMatch-selected': {backgroundColor: 'var(--accent-tint)', outline: '1px solid var(--accent)'},
  '.cm-foldPlaceholder': {backgroundColor: 'var(--sunken)', border: '1px solid var(--line)', color: 'var(--ink2)'},
  '.cm-specialChar': {color: 'var(--failed)'},
  '.cm-lineEnd': {color: 'var(--ink2)'},
  '.cm-lintRange-error': wavy('var(--failed)'),
  '.cm-lintRange-warning': wavy('var(--warning)'),
  '.cm-lintRange-info': wavy('var(--running)'),
  '.cm-lintRange-hint': wavy('var(--running)'),
  '.cm-lintRange-active': {backgroundColor: 'var(--failed-tint)'},
  '.cm-lintPoint:after': {borderBottomColor: 'var(--failed)'},
  '.cm-lintPoint-warning:after': {borderBottomColor: 'var(--warning)'},
  '.cm-lint-marker': {width: '12px', height: 'auto', textAlign: 'center'},
  '.cm-gutter-lint': {width: '16px'},
  '.cm-gutter-lint .cm-gutterElement': {padding: '0 2px'},
  '.cm-lint-marker-error, .cm-lint-marker-warning, .cm-lint-marker-info': {content: 'normal'},
  '.cm-lint-marker-error:before': marker('var(--failed)', '✕'),
  '.cm-lint-marker-warning:before': marker('var(--warning)', '!'),
  '.cm-lint-marker-info:before': marker('var(--running)', 'i'),
  '.cm-tooltip': {
    maxWidth: 'min(520px, 90vw)',
    border: '1px solid var(--edge)',
    borderRadius: '8px',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
  },
  '.cm-tooltip .cm-tooltip-arrow:before, .cm-tooltip .cm-tooltip-arrow:after': {display: 'none'},
  '.cm-tooltip-autocomplete > ul': {fontFamily: 'var(--mono)', maxHeight: '240px'},
  '.cm-tooltip-autocomplete > ul > li': {padding: '4px 8px', color: 'var(--ink)'},
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {backgroundColor: 'var(--accent-tint)', color: 'var(--ink)'},
  '.cm-tooltip-autocomplete .cm-completionMatchedText': {
    textDecoration: 'none',
    fontWeight: '700',
    color: 'var(--accent)',
  },
  '.cm-completionDetail': {color: 'var(--ink2)', fontStyle: 'normal'},
  '.cm-completionInfo': {padding: '0', color: 'var(--ink)', fontFamily: 'var(--sans)'},
  '.cm-tooltip-autocomplete > ul > li > .cm-completionDetail': {fontFamily: 'var(--sans)', fontSize: '12px'},
  '.cm-facts': {
    display: 'grid',
    gap: '4px',
    padding: '8px 10px',
    maxWidth: '420px',
    fontFamily: 'var(--sans)',
    whiteSpace: 'pre-wrap',
    overflowWrap: 'anywhere',
  },
  '.cm-fact-name': {fontFamily: 'var(--mono)', fontWeight: '700'},
  '.cm-fact-type, .cm-fact-preset, .cm-fact-values': {color: 'var(--ink2)', fontSize: '12px'},
  '.cm-diagnostic': {
    padding: '6px 10px',
    borderLeft: '3px solid var(--running)',
    whiteSpace: 'pre-wrap',
    fontFamily: 'var(--sans)',
  },
  '.cm-diagnostic-error': {borderLeftColor: 'var(--failed)'},
  '.cm-diagnostic-warning': {borderLeftColor: 'var(--warning)'},
  '.cm-panels': {backgroundColor: 'var(--sunken)', color: 'var(--ink)'},
  '.cm-panels.cm-panels-bottom': {borderTop: '1px solid var(--line)'},
  '.cm-textfield': {
    border: '1px solid var(--edge)',
    borderRadius: '6px',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    fontSize: '13px',
  },
  '.cm-button': {
    backgroundImage: 'none',
    border: '1px solid var(--edge)',
    borderRadius: '6px',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
  },
  '.cm-panel.cm-search label': {fontSize: '12px'},
  '.cm-panel.cm-search [name=close]': {color: 'var(--ink)', minWidth: '24px', minHeight: '24px'},
  '.cm-placeholder': {color: 'var(--ink3)'},
})

const words = HighlightStyle.define([
  {tag: [t.propertyName, t.definition(t.propertyName)], color: 'var(--accent)'},
  {tag: [t.string, t.special(t.string)], color: 'var(--completed)'},
  {tag: [t.number, t.bool, t.null], color: 'var(--waiting)'},
  {tag: [t.keyword, t.labelName, t.typeName, t.tagName], color: 'var(--waiting)'},
  {tag: [t.comment, t.meta], color: 'var(--ink2)', fontStyle: 'italic'},
  {tag: [t.separator, t.punctuation, t.squareBracket, t.brace], color: 'var(--ink2)'},
  {tag: t.invalid, color: 'var(--failed)'},
])

// looks returns the extensions of every displayed text: our colors, and styles that the policy
// allows.
export const looks = (): Extension => [EditorView.cspNonce.of(nonceOf()), look, syntaxHighlighting(words)]
