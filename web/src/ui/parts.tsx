import type {ButtonHTMLAttributes, ReactNode} from 'react'
import {ApiError} from '../api/client.ts'
import styles from './parts.module.css'
import {Text} from './Text.tsx'

type Kind = 'plain' | 'primary' | 'danger' | 'quiet'

export function Button({kind = 'plain', className, ...rest}: ButtonHTMLAttributes<HTMLButtonElement> & {kind?: Kind}) {
  return <button type="button" {...rest} className={`${styles.button} ${styles[kind]} ${className ?? ''}`} />
}

export function IconButton({
  label,
  children,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & {label: string; children: ReactNode}) {
  return (
    <button type="button" aria-label={label} title={label} {...rest} className={styles.icon}>
      {children}
    </button>
  )
}

export function Empty({title, children}: {title: string; children?: ReactNode}) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Loading({what}: {what: string}) {
  return (
    <p className={styles.loading} role="status">
      Loading {what}…
    </p>
  )
}

// ErrorBox shows the error of the API, what to do about it, and the request id, by which the
// server's log can be searched.
export function ErrorBox({error, again}: {error: unknown; again?: () => void}) {
  const known = error instanceof ApiError ? error : null
  return (
    <div className={styles.error} role="alert">
      <strong>
        <Text>{known?.problem.title ?? 'The page has a problem'}</Text>
      </strong>
      {(known?.problem.detail || !known) && (
        <p>
          <Text>{known?.problem.detail ?? (error instanceof Error ? error.message : String(error))}</Text>
        </p>
      )}
      {known?.problem.hint && (
        <p>
          <Text>{known.problem.hint}</Text>
        </p>
      )}
      {known?.request && (
        <p className={styles.request}>
          request <code>{known.request}</code>
        </p>
      )}
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  )
}

export function Field({label, hint, children}: {label: string; hint?: string; children: ReactNode}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label className={styles.field}>
      <span>{label}</span>
      {children}
      {hint && <small>{hint}</small>}
    </label>
  )
}

export function Page({
  title,
  actions,
  children,
  wide = false,
}: {
  title: ReactNode
  actions?: ReactNode
  children: ReactNode
  wide?: boolean
}) {
  return (
    <div className={wide ? styles.widePage : styles.page}>
      <header className={styles.head}>
        <h1>{title}</h1>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}
