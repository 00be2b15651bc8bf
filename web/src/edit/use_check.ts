import {useEffect, useState} from 'react'
import {type Checking, checker, checkText} from './check.ts'
import type {DocumentModel} from './model.ts'

// useCheck gives what the server says of the text of a model, a moment after each change. branch is the one that is drawn.
export function useCheck(model: DocumentModel, branch: string): Checking {
  const [state, setState] = useState<Checking>({check: null, error: null, busy: true})
  useEffect(() => {
    const c = checker((text, signal) => checkText(text, branch, signal), setState)
    c.check(model.text, true)
    const leave = model.subscribe(u => u.text && c.check(model.text))
    return () => {
      leave()
      c.stop()
    }
  }, [model, branch])
  return state
}
