/** What rules have to say to their owner. */
export function NotificationList() {
  return null;
}
