import {useCallback, useEffect, useRef, useState} from 'react'
import {type Checking, checker, checkText} from './check.ts'
import type {DocumentModel} from './model.ts'

// useCheck returns the server's check of the text of a model, a moment after each change. branch is
// the branch that is drawn.
export function useCheck(model: DocumentModel, branch: string): Checking & {again: () => void} {
  const [state, setState] = useState<Checking>({check: null, error: null, busy: true})
  const asking = useRef<(() => void) | null>(null)
  useEffect(() => {
    const c = checker((text, signal) => checkText(text, branch, signal), setState)
    asking.current = c.again
    c.check(model.text, true)
    const leave = model.subscribe(u => u.text && c.check(model.text))
    return () => {
      leave()
      c.stop()
    }
  }, [model, branch])
  const again = useCallback(() => asking.current?.(), [])
  return {...state, again}
}
