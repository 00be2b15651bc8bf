import {type FormEvent, useEffect, useState} from 'react'
import {type Session, signIn} from '../api/session.ts'
import {Mark} from '../shell/Mark.tsx'
import control from '../ui/control.module.css'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import styles from './SignIn.module.css'

// SignIn accepts a token, which is not stored: the server returns a session in a cookie that no
// script can read.
export function SignIn({done}: {done: (s: Session) => void}) {
  const [token, setToken] = useState('')
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  // If the link with a code is opened in the tab that shows this form, only the fragment changes,
  // so the page is loaded again.
  useEffect(() => {
    const follow = () => new URLSearchParams(window.location.hash.slice(1)).has('code') && window.location.reload()
    window.addEventListener('hashchange', follow)
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setBusy(true)
    try {
      done(await signIn(token.trim()))
    } catch (err) {
      setError(err)
      setBusy(false)
    }
  }
  return (
    <main className={styles.page}>
      <form className={styles.form} onSubmit={e => void submit(e)} autoComplete="off">
        <div className={styles.brand}>
          <Mark size={28} />
          <h1>Hocket</h1>
        </div>
        {error !== undefined && <ErrorBox error={error} />}
        <Field label="Token" hint="It is in the file token beside the store, or in HOCKET_TOKEN of the server.">
          <input
            className={`${control.input} ${control.code}`}
            type="password"
            name="token"
            value={token}
            onChange={e => setToken(e.target.value)}
            autoComplete="off"
            spellCheck={false}
            required
          />
        </Field>
        <Button kind="primary" type="submit" disabled={busy || token.trim() === ''}>
          Sign in
        </Button>
        <p className={styles.hint}>
          Without a token: follow the link that <code>hocket serve</code> printed, or say <code>hocket open</code> for
          another one.
        </p>
      </form>
    </main>
  )
}

// Confirm asks whether the code of a link signs in, in place of the session if there is one. done is
// called with the session that the person wants, or with null if a person without one declines.
export function Confirm({
  session,
  code,
  done,
}: {
  session: Session | null
  code: string
  done: (s: Session | null) => void
}) {
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const follow = async () => {
    setBusy(true)
    try {
      done(await signIn(code))
    } catch (err) {
      setError(err)
      setBusy(false)
    }
  }
  const follows = (
    <Button kind={session ? undefined : 'primary'} disabled={busy || error !== undefined} onClick={() => void follow()}>
      Sign in with the link
    </Button>
  )
  return (
    <main className={styles.page}>
      <div className={styles.form}>
        <div className={styles.brand}>
          <Mark size={28} />
          <h1>{session ? 'Sign in again?' : `Sign in to ${window.location.host}?`}</h1>
        </div>
        {error !== undefined && <ErrorBox error={error} />}
        <p>
          {session ? (
            <>
              You are signed in as <b>{session.name}</b> of the namespace <b>{session.namespace}</b>. The link that you
              followed signs you in with another token, perhaps as someone else.
            </>
          ) : (
            'The link that you followed signs you in with the token for which it was made, perhaps as someone else.'
          )}{' '}
          Continue only if you have the link from <code>hocket serve</code> or <code>hocket open</code>.
        </p>
        {!session && follows}
        <Button kind={session ? 'primary' : undefined} onClick={() => done(session)}>
          {session ? `Stay signed in as ${session.name}` : 'Use a token instead'}
        </Button>
        {session && follows}
      </div>
    </main>
  )
}
