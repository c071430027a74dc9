//! Macros for enums that delegate to their variants and for registries of names.

/// Implements a trait for an enum by delegating each method to the variant:
/// `impl Trait for Enum { Variant, … }`, followed by the trait's methods.
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch {
    (impl $trait:ident for $enum:ident $variants:tt
        $($(#[$meta:meta])* fn $name:ident $arguments:tt $(-> $answer:ty)?;)+) => {
        impl $trait for $enum {
            $($crate::dispatch!(@method $variants [$(#[$meta])*] $name $arguments [$(-> $answer)?]);)+
        }
    };
    (@method $variants:tt [$($meta:tt)*] $name:ident
        (&mut self $(, $argument:ident: $type:ty)* $(,)?) [$($answer:tt)*]) => {
        $($meta)*
        fn $name(&mut self $(, $argument: $type)*) $($answer)* {
            $crate::dispatch!(@call self $variants $name ($($argument),*))
        }
    };
    (@method $variants:tt [$($meta:tt)*] $name:ident
        (&self $(, $argument:ident: $type:ty)* $(,)?) [$($answer:tt)*]) => {
        $($meta)*
        fn $name(&self $(, $argument: $type)*) $($answer)* {
            $crate::dispatch!(@call self $variants $name ($($argument),*))
        }
    };
    (@call $this:ident {$($variant:ident),+ $(,)?} $name:ident $arguments:tt) => {
        match $this { $(Self::$variant(inner) => inner.$name $arguments),+ }
    };
}

/// Declares an enum with a variant for each type and a `From` for each. `$dispatch!` implements the
/// shared trait.
macro_rules! any {
    ($(#[$about:meta])* pub enum $name:ident by $dispatch:ident { $($type:ident),+ $(,)? }) => {
        $(#[$about])*
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each variant is the type of its name")]
        #[allow(clippy::large_enum_variant, reason = "no allocation, so nothing can be boxed")]
        pub enum $name {
            $($type($type)),+
        }

        $(impl From<$type> for $name {
            fn from(one: $type) -> Self {
                Self::$type(one)
            }
        })+

        $dispatch!($name { $($type),+ });
    };
}
pub(crate) use any;

/// Builds the lines of a registry for `$of`. Each line has an id, a name, a summary, a source,
/// parameters, and a constructor, which sees each parameter's value under its name. Relations
/// between parameters follow `where`.
macro_rules! entries {
    ($of:ty {$(
        $id:literal, $name:literal, $summary:literal, $source:literal,
        ($($parameter:ident = $spec:expr),* $(,)?) => $new:expr $(, where $relation:expr)?;
    )+}) => {
        &[$(
            $crate::registry::Entry::<$of>::new(
                ($id, $name),
                $summary,
                $source,
                &[$($spec.named(stringify!($parameter))),*],
                |values| {
                    let _ = values;
                    $(let $parameter = values.value(stringify!($parameter));)*
                    $(let true = $relation else {
                        return Err(stringify!($relation));
                    };)?
                    Ok(From::from($new))
                },
            ),
        )+]
    };
}
pub(crate) use entries;

/// Declares a module's registry: `Entry`, `REGISTRY` with [these lines](entries), and `find`.
macro_rules! registry {
    ($(#[$about:meta])* $of:ty { $($lines:tt)+ }) => {
        /// An entry of the registry.
        pub type Entry = $crate::registry::Entry<$of>;

        $(#[$about])*
        pub static REGISTRY: &[Entry] = $crate::macros::entries!($of { $($lines)+ });

        /// Returns the entry with this id; `None` if there is none.
        pub fn find(id: &str) -> Option<&'static Entry> {
            REGISTRY.iter().find(|entry| entry.id == id)
        }
    };
}
pub(crate) use registry;
