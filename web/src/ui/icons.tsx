import type { ReactNode, SVGProps } from 'react'

// Drawn on a grid of 24 with a stroke of 1.75. Decoration only: the meaning of an icon is also in the text beside it.
export type Icon = (props: SVGProps<SVGSVGElement>) => ReactNode

function icon(shape: ReactNode): Icon {
  return function Icon({ className = 'size-5', ...rest }) {
    return (
      <svg
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        className={`shrink-0 ${className}`}
        {...rest}
      >
        {typeof shape === 'string' ? <path d={shape} /> : shape}
      </svg>
    )
  }
}

export const OverviewIcon = icon(
  <>
    <rect x="3.5" y="3.5" width="7" height="9" rx="1.5" />
    <rect x="13.5" y="3.5" width="7" height="5" rx="1.5" />
    <rect x="13.5" y="11.5" width="7" height="9" rx="1.5" />
    <rect x="3.5" y="15.5" width="7" height="5" rx="1.5" />
  </>,
)
export const DepositIcon = icon('M12 3.5v11m0 0 4.5-4.5M12 14.5 7.5 10M4 16v2.5A2 2 0 0 0 6 20.5h12a2 2 0 0 0 2-2V16')
export const StatementIcon = icon('M6 3.5h9l4 4v13H6zM14.5 3.5V8H19M9 12h7M9 16h7')
export const CodeIcon = icon('m8 7-5 5 5 5m8-10 5 5-5 5M13.5 5l-3 14')
export const BookIcon = icon('M5 5.5A2 2 0 0 1 7 3.5h12v14H7a2 2 0 0 0-2 2zm0 14a1.5 1.5 0 0 0 1.5 1H19v-3')
export const SettingsIcon = icon(
  <>
    <path d="M4 7h9m4 0h3M4 17h3m4 0h9" />
    <circle cx="15" cy="7" r="2" />
    <circle cx="9" cy="17" r="2" />
  </>,
)
export const SignOutIcon = icon('M10 4H6a1.5 1.5 0 0 0-1.5 1.5v13A1.5 1.5 0 0 0 6 20h4m5-12 4 4-4 4m4-4H10')
export const PeopleIcon = icon(
  <>
    <circle cx="9" cy="8" r="3.5" />
    <path d="M3 20c0-3.5 2.5-5.5 6-5.5s6 2 6 5.5m1-15.5a3.5 3.5 0 0 1 0 6.8m2 3.7c2 .8 3 2.6 3 5" />
  </>,
)
export const WarningIcon = icon('M12 4 2.8 19.5h18.4zM12 10v4.5m0 2.6v.1')
export const ScalesIcon = icon('M12 4v16m-4 0h8M5 7h14M5 7l-2.5 7h5zm14 0-2.5 7h5z')
export const BankIcon = icon('M3.5 9.5 12 4l8.5 5.5zM6 9.5V17m4-7.5V17m4-7.5V17m4-7.5V17M3.5 20.5h17M5 17h14')
export const WebhookIcon = icon(
  <>
    <circle cx="12" cy="7" r="3" />
    <circle cx="6" cy="17" r="3" />
    <circle cx="18" cy="17" r="3" />
    <path d="m10.5 9.6-3 4.9M9 17h6m1.5-2.5-3-4.9" />
  </>,
)
export const LogIcon = icon('M8 6h12M8 12h12M8 18h12M4 6h.1M4 12h.1M4 18h.1')
export const MoreIcon = icon(<path d="M5 12h.1M12 12h.1M19 12h.1" strokeWidth="2.75" />)
export const MenuIcon = icon('M4 7h16M4 12h16M4 17h16')
export const BellIcon = icon('M6 9.5a6 6 0 0 1 12 0c0 5 2 6.5 2 6.5H4s2-1.5 2-6.5M10 19.5a2.2 2.2 0 0 0 4 0')
export const CloseIcon = icon('m6 6 12 12M18 6 6 18')
export const CheckIcon = icon('m5 12.5 4.5 4.5L19 7.5')
export const CopyIcon = icon(
  <>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    <path d="M15 6V5.5A1.5 1.5 0 0 0 13.5 4h-8A1.5 1.5 0 0 0 4 5.5v8A1.5 1.5 0 0 0 5.5 15H6" />
  </>,
)
export const PlusIcon = icon('M12 5v14M5 12h14')
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 4.5 4.5" />
  </>,
)
export const FilterIcon = icon('M4 7h16M7 12h10M10 17h4')
export const PrintIcon = icon(
  'M7 8V3.5h10V8M7 17H4.5A1 1 0 0 1 3.5 16v-6a2 2 0 0 1 2-2h13a2 2 0 0 1 2 2v6a1 1 0 0 1-1 1H17M7 14h10v6.5H7z',
)
export const DownloadIcon = icon('M12 4v11m0 0 4-4m-4 4-4-4M5 20h14')
export const QrIcon = icon('M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2.5v2.5H14zM20 14v2.5M16.5 20H20v-1')
export const KeypadIcon = icon(
  'M7 3h10a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM9 7h6M9.5 11.5v.01M12 11.5v.01M14.5 11.5v.01M9.5 14.5v.01M12 14.5v.01M14.5 14.5v.01M9.5 17.5v.01M12 17.5v.01M14.5 17.5v.01',
)
export const PayoutIcon = icon('M12 15V4m0 0 4 4m-4-4-4 4M5 20h14')
export const ShopIcon = icon(
  'M4.5 10v9.5h15V10M3 9.5l2-5h14l2 5a3 3 0 0 1-6 0 3 3 0 0 1-6 0 3 3 0 0 1-6 0M10 19.5V15h4v4.5',
)
export const ShareIcon = icon('M12 14V3.5m0 0L8 7.5m4-4 4 4M6.5 11H5v9.5h14V11h-1.5')
export const ChatIcon = icon('M4 20l1.4-4.2A8 8 0 1 1 8.4 19z')
export const RefreshIcon = icon('M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.4M20 4.5v4.9h-4.9')
export const ExternalIcon = icon(
  'M14 4.5h5.5V10M19 5l-8 8m-1-7H6A1.5 1.5 0 0 0 4.5 7.5V18A1.5 1.5 0 0 0 6 19.5h10.5A1.5 1.5 0 0 0 18 18v-4',
)
export const ArrowLeftIcon = icon('M19 12H5m6-6-6 6 6 6')
export const ChevronRightIcon = icon('m9 5.5 6.5 6.5L9 18.5')
export const ChevronDownIcon = icon('m5.5 9 6.5 6.5L18.5 9')
export const ClockIcon = icon(
  <>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M12 7v5l3.5 2" />
  </>,
)
export const InfoIcon = icon(
  <>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M12 11v5m0-8.2v.1" />
  </>,
)
export const KeyIcon = icon(
  <>
    <circle cx="8" cy="15" r="4.5" />
    <path d="m11.5 11.5 8-8m-3 3 3 3" />
  </>,
)
export const ShieldIcon = icon('M12 3.5 5 6v6c0 4.5 3 7.5 7 8.5 4-1 7-4 7-8.5V6zm-3 8.7 2.2 2.3L15.5 10')
export const EyeIcon = icon(
  <>
    <path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12" />
    <circle cx="12" cy="12" r="2.75" />
  </>,
)
export const EyeOffIcon = icon(
  'M4 4l16 16M9.5 5.9A9.5 9.5 0 0 1 12 5.5c6 0 9.5 6.5 9.5 6.5a17 17 0 0 1-3 3.7M6 7.8A16 16 0 0 0 2.5 12S6 18.5 12 18.5a9 9 0 0 0 3.7-.8M10 10.2a2.75 2.75 0 0 0 3.8 3.8',
)

export const EraseIcon = icon('M9 5.5h11v13H9L3 12zM12 9.5l5 5m0-5-5 5')
export const SoundIcon = icon('M4 9.5v5h3.5l4.5 4v-13l-4.5 4zM15.5 9a4.2 4.2 0 0 1 0 6m2.5-8.5a7.8 7.8 0 0 1 0 11')
export const MutedIcon = icon('M4 9.5v5h3.5l4.5 4v-13l-4.5 4zM16 9.5l5 5m0-5-5 5')

/** A teller's window, as on the payment page. */
export function Logo({ className = 'size-8' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={`shrink-0 ${className}`}>
      <rect width="32" height="32" rx="8" fill="#0a7d5f" />
      <path d="M9 24V14a7 7 0 0 1 14 0v10" fill="none" stroke="#fff" strokeWidth="3" />
      <path d="M6 24h20" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
    </svg>
  )
}
